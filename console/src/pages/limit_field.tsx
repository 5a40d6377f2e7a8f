// The limit of a tag: one of the known sizes, or a number.
import { SelectField, TextField } from "../parts/field";
import { useWords } from "../words";

const SIZES = ["int64", "js53", "int32"];
const OWN = "own";

export function LimitField({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  const words = useWords();
  const isOwn = value !== "" && !SIZES.includes(value);
  const options = [
    ["", words.form.policies[""] ?? ""],
    ["int64", "int64: 9,223,372,036,854,775,807"],
    ["js53", "js53: 9,007,199,254,740,991"],
    ["int32", "int32: 2,147,483,647"],
    [OWN, words.form.limitOwn],
  ] as const;
  return (
    <div class="field-row">
      <SelectField
        label={words.form.limit}
        value={isOwn ? OWN : value}
        testid="limit"
        options={options}
        onValue={(chosen) => onValue(chosen === OWN ? "999999" : chosen)}
      />
      {isOwn && (
        <TextField
          label={words.form.limitNumber}
          value={value}
          testid="limit-number"
          isNumber
          onValue={(text) => onValue(text.replace(/\D/g, "") || "0")}
        />
      )}
    </div>
  );
}

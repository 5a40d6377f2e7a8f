// The level of an event or finding as a word; red only for errors.
import { useWords } from "../words";

export function LevelMark({ level }: { level: "error" | "warn" | "info" | "note" }) {
  const words = useWords();
  return <span class={`mark ${level}`}>{words.common.level[level]}</span>;
}

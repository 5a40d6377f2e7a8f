// The page for an address that names none.
import { pageLink } from "../route";
import { useWords } from "../words";

export function Unknown() {
  const words = useWords();
  return (
    <>
      <h1>{words.pages.unknown}</h1>
      <p>{words.shell.unknownPage}</p>
      <p>
        <a href={pageLink("overview")}>{words.shell.toOverview}</a>
      </p>
    </>
  );
}

// Back and forth in a list whose length is not known.
import { useWords } from "../words";

interface PagerProps {
  text: string;
  onPrevious: (() => void) | null;
  onNext: (() => void) | null;
}

export function Pager({ text, onPrevious, onNext }: PagerProps) {
  const words = useWords();
  if (onPrevious === null && onNext === null) return null;
  return (
    <div class="pager">
      <span role="status" data-testid="page-range">
        {text}
      </span>
      <button type="button" disabled={onPrevious === null} onClick={() => onPrevious?.()} data-testid="page-previous">
        {words.common.previous}
      </button>
      <button type="button" disabled={onNext === null} onClick={() => onNext?.()} data-testid="page-next">
        {words.common.next}
      </button>
    </div>
  );
}

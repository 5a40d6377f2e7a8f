// Says that the server no longer answers, since when, and that the console goes on trying.
import { clockTime } from "../times";
import { useWords } from "../words";

export function OfflineBanner({ lostSince, isFirst }: { lostSince: Date | null; isFirst?: boolean }) {
  const words = useWords();
  return (
    <div class="banner-place" role="status">
      {lostSince !== null && (
        <p class="banner" data-testid="banner-offline">
          <b>{words.shell.lost(clockTime(lostSince))}</b> {isFirst === true ? "" : words.shell.lostNote}
        </p>
      )}
    </div>
  );
}

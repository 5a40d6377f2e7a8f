// The list of tags: searched, sorted and paged by the server, which may hold millions.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import { useAsked } from "../asked";
import { Pager } from "../parts/pager";
import { ProblemNote } from "../parts/problem_note";
import { SelectField } from "../parts/field";
import { Table } from "../parts/table";
import { parseRoute } from "../route";
import { useMayChange } from "../session";
import { useWords } from "../words";
import { grouped } from "../numbers";
import { Quotas } from "./quotas";
import { TagDialog, type TagDialogKind } from "./tag_dialogs";
import { SORTS, type Sort, tagColumns } from "./tags_columns";

const LIMIT = 50;
const SEARCH_DELAY_MS = 250;
const RELOAD_SECONDS = 5;

/** Where a page starts: a name, or a place in the list. */
interface Place {
  after: string | null;
  offset: number;
}
const START: Place = { after: null, offset: 0 };

function sortOf(query: URLSearchParams): Sort {
  const text = query.get("sort");
  return SORTS.find((sort) => sort === text) ?? "name";
}

export function Tags({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const mayChange = useMayChange();
  const [typed, setTyped] = useState(query.get("search") ?? "");
  const [search, setSearch] = useState(typed);
  const [sort, setSort] = useState<Sort>(() => sortOf(query));
  const [places, setPlaces] = useState<Place[]>([START]);
  const [dialog, setDialog] = useState<{ kind: TagDialogKind; tag: string | null } | null>(null);
  const place = places[places.length - 1] ?? START;
  const key = JSON.stringify([sort, search, place]);
  const {
    value: page,
    problem,
    reload,
  } = useAsked(key, () => api.tags({ sort, search, ...place, limit: LIMIT }), RELOAD_SECONDS);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed !== search) {
        setSearch(typed);
        setPlaces([START]);
      }
    }, SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [typed, search]);
  useEffect(() => rememberQuery(sort, search), [sort, search]);
  const changeSort = (sort: Sort) => {
    setSort(sort);
    setPlaces([START]);
  };
  const next = nextPlace(page);
  const first = (places.length - 1) * LIMIT + 1;
  return (
    <>
      <div class="title-row">
        <h1>{words.pages.tags}</h1>
        {page !== null && <span class="hint">{words.tags.inUse(grouped(page.loaded))}</span>}
        <span class="spring" />
        {mayChange && (
          <button
            type="button"
            class="primary"
            data-testid="create-tag"
            onClick={() => setDialog({ kind: "create", tag: null })}
          >
            {words.tags.create}
          </button>
        )}
      </div>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <SearchField value={typed} onValue={setTyped} isAnyPart={sort !== "name"} />
        <SelectField
          label={words.tags.sort}
          value={sort}
          testid="tag-sort"
          options={SORTS.map((sort) => [sort, words.tags.sorts[sort]] as const)}
          onValue={(value) => changeSort(value as Sort)}
        />
        {sort !== "name" && <p class="hint">{words.tags.sortedNote}</p>}
      </form>
      <ProblemNote problem={problem} />
      {page === null && problem === null && <p class="empty">{words.common.loading}</p>}
      {page !== null && page.tags.length === 0 && (
        <p class="empty" data-testid="no-tags">
          {search === "" && sort === "name" ? words.tags.empty : words.tags.noMatch}
        </p>
      )}
      {page !== null && page.tags.length > 0 && (
        <>
          <Table
            caption={words.tags.caption}
            isCaptionHidden
            testid="tags"
            columns={tagColumns({
              words,
              sort,
              onSort: changeSort,
              onAction: mayChange ? (kind, tag) => setDialog({ kind, tag }) : null,
            })}
            rows={page.tags}
            rowKey={(row) => row.tag}
            rowTestid={(row) => `tag-row-${row.tag}`}
          />
          <Pager
            text={words.tags.range(grouped(first), grouped(first + page.tags.length - 1))}
            onPrevious={places.length > 1 ? () => setPlaces(places.slice(0, -1)) : null}
            onNext={next === null ? null : () => setPlaces([...places, next])}
          />
        </>
      )}
      <Quotas />
      {dialog !== null && (
        <TagDialog kind={dialog.kind} tag={dialog.tag} onClose={() => setDialog(null)} onDone={reload} />
      )}
    </>
  );
}

function nextPlace(page: { next_after: string | null; next_offset: number | null } | null): Place | null {
  if (page === null) return null;
  if (page.next_after !== null) return { after: page.next_after, offset: 0 };
  return page.next_offset === null ? null : { after: null, offset: page.next_offset };
}

/** Keeps order and search in the address, so that a link or a reload shows the same. */
function rememberQuery(sort: Sort, search: string): void {
  if (parseRoute(location.hash).page !== "tags") return;
  const query = new URLSearchParams();
  if (sort !== "name") query.set("sort", sort);
  if (search !== "") query.set("search", search);
  const text = query.toString();
  history.replaceState(null, "", text === "" ? "#/tags" : `#/tags?${text}`);
}

function SearchField({
  value,
  onValue,
  isAnyPart,
}: {
  value: string;
  onValue: (value: string) => void;
  isAnyPart: boolean;
}) {
  const words = useWords();
  return (
    <div class="field">
      <label for="tag-search">{words.tags.search}</label>
      <input
        id="tag-search"
        type="search"
        value={value}
        placeholder={isAnyPart ? words.tags.searchAny : words.tags.searchName}
        autocomplete="off"
        spellcheck={false}
        data-testid="tag-search"
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </div>
  );
}

// Filled in next.
export function DecodePage({ query }: { query: URLSearchParams }) {
  return <p>{query.toString()}</p>;
}

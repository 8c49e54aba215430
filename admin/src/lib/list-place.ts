type Place = { pathname: string; search: object }

/** The search parameters of a list from which one of its entries was opened. */
const searches = new Map<string, object>()

/** Called at each step: what was searched for stays known until the visitor leaves the list and everything under it. */
export function rememberPlace(from: Place | undefined, to: Place): void {
  if (from && isUnder(to.pathname, from.pathname)) searches.set(from.pathname, from.search)
  for (const list of searches.keys()) if (!isUnder(to.pathname, list)) searches.delete(list)
}

/** For the link back to a list; undefined when the visitor did not come from it. */
export const searchOfList = (list: string): object | undefined => searches.get(list)

const isUnder = (path: string, list: string) => list.length > 1 && path.startsWith(`${list}/`)

/** The token of a sign-in link, which follows the #. It is taken out of the address bar and the history. */
export function takeTokenFromUrl(location = window.location, history = window.history): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token) history.replaceState(history.state, '', location.pathname + location.search)
  return token
}

/** The demo sends through the same API as everybody. */
export type DemoClient = (apiKey: string, method: string, path: string, body?: unknown) => Promise<DemoAnswer>
// biome-ignore lint/suspicious/noExplicitAny: answers of several routes
type DemoAnswer = { status: number; body: any }

export function demoClient(url: string): DemoClient {
  return async (apiKey, method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: await response.json().catch(() => null) }
  }
}

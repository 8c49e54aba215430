export type Check = { name: string; state: 'ok' | 'warning' | 'failed'; detail: string }

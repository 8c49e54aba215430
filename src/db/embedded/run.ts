import { spawn } from 'node:child_process'
import { parse } from 'node:path'
import type { ServerUser } from './user.ts'

export type Finished = { code: number; output: string }

type RunOptions = {
  user?: ServerUser | undefined
  /** An open file that gets the output, also that of the processes the command leaves behind. */
  outputTo?: number
  /** A session of its own: Ctrl-C in our terminal does not reach it. */
  detached?: boolean
}

// The gateway's environment holds secrets and PG* variables; neither belongs in the server's processes.
const CLEAN_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }

/** Runs a command to its end. Rejects only when it cannot be started at all. */
export function run(command: string, args: string[], options: RunOptions = {}): Promise<Finished> {
  const { user, outputTo, detached = false } = options
  const output = outputTo ?? 'pipe'
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: parse(command).root || '/',
      stdio: ['ignore', output, output],
      detached,
      windowsHide: true,
      ...(process.platform === 'win32' ? {} : { env: CLEAN_ENVIRONMENT }),
      ...(user ? { uid: user.uid, gid: user.gid } : {}),
    })
    let text = ''
    const collect = (chunk: Buffer) => {
      text += chunk.toString()
    }
    child.stdout?.on('data', collect)
    child.stderr?.on('data', collect)
    child.on('error', reject)
    // A server left behind keeps an inherited file open: 'close' would wait for it when the output is not a pipe of ours.
    child.on(outputTo === undefined ? 'close' : 'exit', code => resolve({ code: code ?? 1, output: text.trim() }))
  })
}

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim() ?? ''

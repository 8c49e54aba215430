import { spawn } from 'node:child_process'
import { parse } from 'node:path'
import type { ServerUser } from './user.ts'

export type Finished = { code: number; output: string }

type RunOptions = {
  user?: ServerUser | undefined
  /** An open file for the output of the command and of the processes that it leaves running. */
  outputTo?: number
  /** In its own session, so that Ctrl-C in our terminal does not end it. */
  detached?: boolean
}

// The gateway's environment contains secrets and PG* variables, which the server's processes must not see.
const CLEAN_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }

/** Rejects only when the command cannot be started; a failure is an exit code. */
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
    // A server that keeps running has the inherited file open, and 'close' would wait for it: use 'exit' there.
    child.on(outputTo === undefined ? 'close' : 'exit', code => resolve({ code: code ?? 1, output: text.trim() }))
  })
}

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim() ?? ''

import { execFileSync } from 'node:child_process'
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { launchShell, ROOT, runShell } from './process.ts'

const BIN = join(ROOT, 'bin/email-gateway.js')
const isRoot = process.getuid?.() === 0
/** A name space for mounts: the file system goes with the last process that uses it, whatever becomes of the test. */
const UNSHARE = isRoot ? 'unshare --mount' : 'unshare --user --map-current-user --keep-caps --mount'
const NSENTER = isRoot ? 'nsenter --mount' : 'nsenter --user --preserve-credentials --mount'

/** Says why when this machine cannot do it. */
export function requireSmallDisks(): void {
  try {
    execFileSync('sh', ['-c', `${UNSHARE} mount -t tmpfs -o size=1m none /mnt`], { stdio: 'pipe' })
  } catch (error) {
    const said = String((error as { stderr?: Buffer }).stderr ?? error).trim()
    throw new Error(
      `This test needs a small file system of its own. Run it as root, or as a user who may make user name spaces (sysctl kernel.unprivileged_userns_clone=1 or user.max_user_namespaces>0). Tried: ${UNSHARE} mount -t tmpfs: ${said}`,
    )
  }
}

/** A gateway whose DATA_DIR is a real file system of so many megabytes, which can be filled. */
export function launchOnSmallDisk(folder: string, megabytes: number, env: Record<string, string>) {
  const settings = { ...env, DATA_DIR: folder }
  const mount = `mount -t tmpfs -o size=${megabytes}m,mode=711 none ${folder}`
  const gateway = launchShell(`exec ${UNSHARE} sh -c '${mount} && exec ${process.execPath} ${BIN} start'`, {
    env: settings,
  })
  const inside = (name: string) => `/proc/${gateway.pid}/root${folder}/${name}`
  return {
    ...gateway,
    inside,
    /** Another command of the gateway, with the same folder before its eyes. */
    run: (command: string) =>
      runShell(`exec ${NSENTER} --target ${gateway.pid} -- ${process.execPath} ${BIN} ${command}`, { env: settings }),
    /** To the last byte. */
    fill() {
      for (const bytes of [1024 * 1024, 4096, 1]) {
        try {
          for (;;) appendFileSync(inside('filler'), Buffer.alloc(bytes))
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        }
      }
    },
    free: () => rmSync(inside('filler')),
  }
}

const WIDTH = 30

export type Progress = { show: (done: number, total: number) => void; end: () => void }

/** `[######----] 6,000 of 10,000`, rewritten in place on a terminal; writes nothing otherwise. */
export function progressOn(stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>): Progress {
  if (!stream.isTTY) return { show: () => {}, end: () => {} }
  let shown = false
  return {
    show(done, total) {
      shown = true
      stream.write(`\r${progressBar(done, total)}`)
    },
    end() {
      if (shown) stream.write('\n')
    },
  }
}

export function progressBar(done: number, total: number): string {
  const full = total === 0 ? WIDTH : Math.floor((done / total) * WIDTH)
  const number = (value: number) => value.toLocaleString('en-US')
  return `[${'#'.repeat(full)}${'-'.repeat(WIDTH - full)}] ${number(done)} of ${number(total)}`
}

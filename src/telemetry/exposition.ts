/** One figure in the text format of Prometheus. `suffix`: for the parts of a histogram. */
export type Sample = { labels?: Record<string, string>; value: number; suffix?: '_bucket' | '_sum' | '_count' }

export type Family = { name: string; type: 'counter' | 'gauge' | 'histogram'; help: string; samples: Sample[] }

/**
 * Figures that are read whole from Postgres are only written down, so they need none of the counting of prom-client.
 * The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function writeFamilies(families: Family[]): string {
  return families.map(writeFamily).join('')
}

function writeFamily({ name, type, help, samples }: Family): string {
  const head = `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n# TYPE ${name} ${type}\n`
  return head + samples.map(sample => writeSample(name, sample)).join('')
}

function writeSample(name: string, { labels = {}, value, suffix }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${suffix ?? ''}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
}

const escapeLabel = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

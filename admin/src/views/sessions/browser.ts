/** In this order: Edge and Opera also say Chrome, and Chrome also says Safari. */
const BROWSERS: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\/(\d+)/, 'Edge'],
  [/\bOPR\/(\d+)/, 'Opera'],
  [/\b(?:Firefox|FxiOS)\/(\d+)/, 'Firefox'],
  [/\b(?:Headless)?(?:Chrome|CriOS)\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)[^ ]* (?:Mobile\/\S+ )?Safari/, 'Safari'],
  [/^curl\/(\d+)/, 'curl'],
]
const SYSTEMS: [RegExp, string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** `Firefox 128, Linux`; null: no known browser. */
export function browserOf(userAgent: string): string | null {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))
  if (!browser) return null
  const [pattern, name] = browser
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1]
  return `${name} ${pattern.exec(userAgent)![1]}${system ? `, ${system}` : ''}`
}

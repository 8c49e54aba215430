import { useMemo } from 'react'
import { type Language, usePreferences, type Zone } from './preferences.ts'

const LOCALES: Record<Language, string> = { en: 'en-US', pt: 'pt-BR' }
const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

type Format = ReturnType<typeof formatFor>

/** Numbers, dates and times by language and zone. */
export function formatFor(language: Language, zone: Zone) {
  const locale = LOCALES[language]
  const timeZone = zone === 'utc' ? { timeZone: 'UTC' } : {}
  // Intl objects are slow to make: one of each.
  const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
  const fine = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 })
  const short = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
  const percents = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 })
  const relatives = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  const hour = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  const times = new Intl.DateTimeFormat(locale, { ...hour, ...timeZone })
  const days = new Intl.DateTimeFormat(locale, { day: '2-digit', month: 'short', ...timeZone })
  const utcDays = new Intl.DateTimeFormat(locale, { day: '2-digit', month: 'short', timeZone: 'UTC' })
  const utcDates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const dates = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', ...timeZone })
  const dateTimes = new Intl.DateTimeFormat(locale, { day: '2-digit', month: 'short', ...hour, ...timeZone })
  const datesWithTime = new Intl.DateTimeFormat(locale, {
    ...{ day: '2-digit', month: 'short', year: 'numeric', ...hour, ...timeZone },
  })
  const years = new Intl.DateTimeFormat('en-US', { year: 'numeric', ...timeZone })
  const exact = new Intl.DateTimeFormat(locale, {
    ...{ year: 'numeric', month: 'short', day: '2-digit', ...hour, second: '2-digit' },
    ...{ fractionalSecondDigits: 3, timeZoneName: 'short', ...timeZone },
  })

  return {
    locale,
    number: (value: number) => whole.format(value),
    decimal: (value: number) => fine.format(value),
    compact: (value: number) => short.format(value),
    /** 0.987 → "98.7%"; a little is not nothing: "<0.01%" */
    percent: (share: number) => (share > 0 && share < 0.00005 ? `<${percents.format(0.0001)}` : percents.format(share)),
    /** "10:31" */
    time: (at: Date | string | number) => times.format(new Date(at)),
    /** "17 Nov" */
    day: (at: Date | string | number) => days.format(new Date(at)),
    /** The same for a day that begins and ends in UTC, whatever zone is shown elsewhere. */
    utcDay: (at: Date | string | number) => utcDays.format(new Date(at)),
    /** The same with the year: "Nov 17, 2026". */
    utcDate: (at: Date | string | number) => utcDates.format(new Date(at)),
    date: (at: Date | string | number) => dates.format(new Date(at)),
    /** "17 Nov, 10:31"; with the year when it is another one. */
    dateTime: (at: Date | string | number, now = Date.now()) =>
      (years.format(new Date(at)) === years.format(now) ? dateTimes : datesWithTime).format(new Date(at)),
    /** With milliseconds and zone, for details and on hover. */
    // A hyphen would let a line break inside of GMT-3; a minus does not.
    exact: (at: Date | string | number) => exact.format(new Date(at)).replace('GMT-', 'GMT−'),
    /** "3 min. ago", "in 2 hr." */
    relative(at: Date | string | number, now = Date.now()): string {
      const seconds = Math.round((new Date(at).getTime() - now) / 1000)
      const index = UNITS.findIndex(([, unitSeconds]) => Math.abs(seconds) >= unitSeconds)
      const [unit, size] = UNITS[index] ?? UNITS[5]
      // To the nearest: what is due in seven days is not "in 6 days" a second later, and 59.6 minutes are an hour.
      const rounded = Math.round(seconds / size)
      const [larger, largerSize] = UNITS[index - 1] ?? [unit, Number.POSITIVE_INFINITY]
      return Math.abs(rounded) * size >= largerSize
        ? relatives.format(Math.sign(rounded), larger)
        : relatives.format(rounded, unit)
    },
    /** 0.214 → "214 ms", 95 → "1 min 35 s", 90 000 → "1 d 1 h" */
    /** A number and its unit stay on one line. */
    duration(seconds: number): string {
      if (seconds < 1) return `${whole.format(seconds * 1000)}\u00a0ms`
      if (seconds < 60) return `${new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(seconds)}\u00a0s`
      const parts = [
        [Math.floor(seconds / 86_400), 'd'],
        [Math.floor((seconds % 86_400) / 3_600), 'h'],
        [Math.floor((seconds % 3_600) / 60), 'min'],
        [Math.floor(seconds % 60), 's'],
      ] as const
      const first = parts.findIndex(([count]) => count > 0)
      return parts
        .slice(first, first + 2)
        .filter(([count]) => count > 0)
        .map(([count, unit]) => `${count}\u00a0${unit}`)
        .join(' ')
    },
    bytes(count: number): string {
      const step = count < 1024 ? 0 : count < 1024 ** 2 ? 1 : 2
      return `${fine.format(Math.round((count / 1024 ** step) * 10) / 10)}\u00a0${['B', 'KB', 'MB'][step]}`
    },
  }
}

export function useFormat(): Format {
  const { language, zone } = usePreferences()
  return useMemo(() => formatFor(language, zone), [language, zone])
}

import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../lib/format.ts'
import { useLive } from '../lib/live.ts'
import classes from './Frame.module.css'
import { useNavigation } from './navigation.ts'

/** The menu; dead letters show how many there are, live. */
export function Navigation() {
  const { t } = useTranslation()
  const { compact } = useFormat()
  const deadLetters = useLive()?.queue.deadLetters ?? 0
  return useNavigation().map(({ to, text, icon: Icon }) => (
    <Link key={to} to={to} className={classes.entry} activeOptions={{ exact: to === '/', includeSearch: false }}>
      <Icon size={18} stroke={1.6} aria-hidden />
      <span>{t(`nav.${text}`)}</span>
      {text === 'deadLetters' && deadLetters > 0 && <span className={classes.count}>{compact(deadLetters)}</span>}
    </Link>
  ))
}

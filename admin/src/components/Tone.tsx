import type { Icon } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './Tone.module.css'

export type ToneName = 'green' | 'blue' | 'grey' | 'amber' | 'red' | 'violet'

/** A state: an icon, a word and one colour. Never colour alone. */
export function Tone({ tone, icon: Icon, children }: { tone: ToneName; icon: Icon; children: ReactNode }) {
  return (
    <span className={classes.tone} data-tone={tone}>
      <Icon size={14} stroke={2} aria-hidden />
      {children}
    </span>
  )
}

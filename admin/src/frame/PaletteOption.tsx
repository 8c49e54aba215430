import { IconArrowRight, IconAt, IconBuilding, IconMail, IconSearch } from '@tabler/icons-react'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './Palette.module.css'
import type { PaletteEntry } from './palette-entries.ts'

const ICONS = { email: IconMail, address: IconAt, search: IconSearch, company: IconBuilding, view: IconArrowRight }

type PaletteOptionProps = {
  id: string
  entry: PaletteEntry
  isActive: boolean
  onHover: () => void
  onChoose: () => void
}

export function PaletteOption({ id, entry, isActive, onHover, onChoose }: PaletteOptionProps) {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isActive) ref.current?.scrollIntoView({ block: 'nearest' })
  }, [isActive])
  const Icon = ICONS[entry.kind]
  return (
    // The keyboard is handled by the field that controls this list.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and names the active option
    <div
      ref={ref}
      id={id}
      role="option"
      aria-selected={isActive}
      className={classes.option}
      onPointerMove={onHover}
      onClick={onChoose}
    >
      <Icon size={16} aria-hidden />
      <span>{useText(entry)}</span>
    </div>
  )
}

function useText(entry: PaletteEntry): string {
  const { t } = useTranslation()
  switch (entry.kind) {
    case 'email':
      return t('palette.email', { id: entry.id })
    case 'address':
      return t('palette.address', { address: entry.address })
    case 'search':
      return t('palette.search', { text: entry.text })
    case 'company':
      return t('palette.company', { name: entry.name })
    case 'view':
      return entry.name
  }
}

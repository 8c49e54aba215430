import { useTranslation } from 'react-i18next'
import { Tile, Tiles } from '../../components/Tile.tsx'
import { useFormat } from '../../lib/format.ts'
import { type Counted, ratesOf } from './data.ts'

export function TotalTiles({ totals }: { totals: Counted }) {
  const { t } = useTranslation('overview')
  const { number, percent } = useFormat()
  const rates = ratesOf(totals)
  const shares = (['delivered', 'bounced', 'complained', 'failed'] as const).map(name => {
    const of = name === 'failed' ? 'accepted' : 'sent'
    const figures = { part: number(totals[name]), count: totals[of] }
    return {
      name,
      value: rates[name] === null ? '–' : percent(rates[name]),
      hint: rates[name] === null ? t('nothingYet') : t(name === 'failed' ? 'ofAccepted' : 'ofSent', figures),
    }
  })
  return (
    <Tiles>
      <Tile
        label={t('counted.accepted')}
        value={number(totals.accepted)}
        hint={t('sentOfThem', { count: totals.sent })}
      />
      {shares.map(({ name, value, hint }) => (
        <Tile key={name} label={t(`counted.${name}`)} value={value} hint={hint} />
      ))}
    </Tiles>
  )
}

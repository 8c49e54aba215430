import { useTranslation } from 'react-i18next'
import { Tile, Tiles } from '../../components/Tile.tsx'
import { useFormat } from '../../lib/format.ts'
import type { Counted } from './data.ts'
import { type Rate, ratesOf } from './rates.ts'

export function TotalTiles({ totals }: { totals: Counted }) {
  const { t } = useTranslation('overview')
  const { number, percent } = useFormat()
  const hintOf = ({ of, part, whole, share }: Rate) => {
    if (share !== null) return t(`shareOf.${of}`, { part: number(part), count: whole })
    return part === 0 ? t('nothingYet') : t(`countOf.${of}`, { count: part })
  }
  return (
    <Tiles>
      <Tile
        label={t('counted.accepted')}
        value={number(totals.accepted)}
        hint={t('sentOfThem', { count: totals.sent })}
      />
      {ratesOf(totals).map(rate => (
        <Tile
          key={rate.name}
          label={t(`counted.${rate.name}`)}
          value={rate.share !== null ? percent(rate.share) : rate.part > 0 ? number(rate.part) : '–'}
          hint={hintOf(rate)}
        />
      ))}
    </Tiles>
  )
}

import '@mantine/charts/styles.css'
import { AreaChart } from '@mantine/charts'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../lib/format.ts'
import { COUNTED, type Counted } from './data.ts'

const COLOURS: Record<keyof Counted, string> = {
  accepted: 'light-dark(#6c757d, #9aa4ae)',
  sent: 'light-dark(#1c64b4, #6aa9ea)',
  delivered: 'light-dark(#1a7f37, #3fb950)',
  bounced: 'light-dark(#c2362b, #ff7b72)',
  complained: 'light-dark(#7a3bbf, #c297f5)',
  failed: 'light-dark(#9a5b00, #e3a53b)',
}

type SeriesAreaProps = { series: (Counted & { at: string })[]; height: number; timeOf: (at: string) => string }

export default function SeriesArea({ series, height, timeOf }: SeriesAreaProps) {
  const { t } = useTranslation('overview')
  const { number, compact } = useFormat()
  return (
    <AreaChart
      h={height}
      data={series}
      dataKey="at"
      series={COUNTED.map(name => ({ name, label: t(`counted.${name}`), color: COLOURS[name] }))}
      valueFormatter={number}
      withLegend
      withDots={false}
      fillOpacity={0.08}
      strokeWidth={1.8}
      curveType="monotone"
      gridAxis="y"
      tickLine="none"
      xAxisProps={{ tickFormatter: timeOf, minTickGap: 40 }}
      yAxisProps={{ tickFormatter: compact, allowDecimals: false, width: 44 }}
      tooltipProps={{ labelFormatter: (label: unknown) => timeOf(String(label)) }}
      legendProps={{ verticalAlign: 'bottom', height: 40 }}
      areaChartProps={{ accessibilityLayer: false }}
    />
  )
}

import { Button, Center, Group, Paper, Table, Text, Title } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { type PointerEvent, type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { labelledPoints, ticksUpTo } from '../lib/points.ts'
import classes from './charts.module.css'
import page from './Page.module.css'

type ChartCardProps = {
  /** A question: "How long do e-mails wait?" */
  question: string
  /** The unit of the figures, and what they count. */
  unit: string
  chart: ReactNode
  /** The same figures, for those who cannot or do not want to read the picture. */
  table: { head: string[]; rows: (string | number)[][]; unfinishedFrom?: number }
  actions?: ReactNode
}

/** A chart answers the question in its title, names its unit, and can be read as a table. */
export function ChartCard({ question, unit, chart, table, actions }: ChartCardProps) {
  const { t } = useTranslation()
  const [asTable, setAsTable] = useState(false)
  return (
    <Paper withBorder p="md" className={page.panel}>
      <Group justify="space-between" align="flex-start" mb="sm">
        <div className={classes.question}>
          <Title order={2} size="h5">
            {question}
          </Title>
          <Text size="sm" className="quiet">
            {unit}
          </Text>
        </div>
        <Group gap="xs">
          {actions}
          <Button size="compact-sm" variant="subtle" onClick={() => setAsTable(!asTable)}>
            {t(asTable ? 'chart.asChart' : 'chart.asTable')}
          </Button>
        </Group>
      </Group>
      {asTable ? <Figures {...table} label={question} /> : chart}
    </Paper>
  )
}

function Figures({ head, rows, unfinishedFrom = rows.length, label }: ChartCardProps['table'] & { label: string }) {
  const { t } = useTranslation()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section className={classes.figures} aria-label={label} tabIndex={0}>
      <Table className="numbers" stickyHeader>
        <Table.Thead>
          <Table.Tr>
            {head.map(name => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            <Table.Tr key={row.join(' ')}>
              {head.map((name, column) => (
                <Table.Td key={name} data-label={name}>
                  {row[column]}
                  {column === 0 && index >= unfinishedFrom && (
                    <span className="quiet"> · {t('chart.unfinishedRow')}</span>
                  )}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}

type ChartSeries<Name extends string> = { name: Name; label: string; color: string }

type LineChartProps<Name extends string> = {
  /** For screen readers; the figures themselves are in the table of `ChartCard`. */
  label: string
  points: ({ at: string } & Record<Name, number>)[]
  series: ChartSeries<Name>[]
  formatTime: (at: string) => string
  formatValue: (value: number) => string
  /** For the axis, where there is little room. */
  formatTick: (value: number) => string
  height: number
  /** The first point that is still being counted; from there on the lines are dashed. Without it, all are complete. */
  unfinishedFrom?: number
}

const LEFT = 52
const BOTTOM = 24
const TOP = 8

/** Lines over time, or a word where there is nothing to draw. */
export function LineChart<Name extends string>(props: LineChartProps<Name>) {
  const { t } = useTranslation()
  const { points, series, height } = props
  if (points.some(point => series.some(({ name }) => point[name] > 0))) return <Lines {...props} />
  return (
    <Center h={height} className="quiet">
      {t('chart.none')}
    </Center>
  )
}

/** Own and small: a chart library would be a third of everything that a first visit loads. */
function Lines<Name extends string>(props: LineChartProps<Name>) {
  const { label, points, series, formatTime, formatTick, height, unfinishedFrom = points.length } = props
  const { t } = useTranslation()
  const { ref, width } = useElementSize()
  const [hovered, setHovered] = useState<number | null>(null)
  const ticks = ticksUpTo(Math.max(0, ...points.flatMap(point => series.map(({ name }) => point[name]))))
  // The first label begins at its point and the second one is around its own: one and a half labels, seven pixels a letter.
  const gap = Math.max(84, 11 * Math.max(0, ...points.map(({ at }) => formatTime(at).length)))
  const innerWidth = Math.max(0, width - LEFT - 8)
  const innerHeight = height - TOP - BOTTOM
  const x = (index: number) => LEFT + (points.length < 2 ? 0 : (index / (points.length - 1)) * innerWidth)
  const y = (value: number) => TOP + innerHeight * (1 - value / ticks.at(-1)!)
  const onMove = (event: PointerEvent<SVGSVGElement>) => {
    const offset = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT
    const index = Math.round((offset / Math.max(1, innerWidth)) * (points.length - 1))
    setHovered(index >= 0 && index < points.length ? index : null)
  }
  return (
    <div>
      <div ref={ref} className={classes.area}>
        <svg
          width={width}
          height={height}
          role="img"
          aria-label={label}
          onPointerMove={onMove}
          onPointerLeave={() => setHovered(null)}
        >
          {ticks.map(tick => (
            <g key={tick}>
              <line className={classes.grid} x1={LEFT} x2={LEFT + innerWidth} y1={y(tick)} y2={y(tick)} />
              <text className={classes.text} x={LEFT - 8} y={y(tick)} textAnchor="end" dominantBaseline="middle">
                {formatTick(tick)}
              </text>
            </g>
          ))}
          {labelledPoints(points.length, innerWidth, gap).map(index => (
            <text
              key={index}
              className={classes.text}
              x={x(index)}
              y={height - 6}
              textAnchor={index === 0 ? 'start' : x(index) > LEFT + innerWidth - 30 ? 'end' : 'middle'}
            >
              {formatTime(points[index]!.at)}
            </text>
          ))}
          {hovered !== null && (
            <line className={classes.cross} x1={x(hovered)} x2={x(hovered)} y1={TOP} y2={TOP + innerHeight} />
          )}
          {series.map(({ name, color }) => {
            const places = points.map((point, index) => `${x(index)},${y(point[name])}`)
            return (
              <g key={name} className={classes.line} style={{ stroke: color }}>
                <polyline points={places.slice(0, unfinishedFrom).join(' ')} />
                <polyline
                  className={classes.unfinished}
                  points={places.slice(Math.max(0, unfinishedFrom - 1)).join(' ')}
                />
              </g>
            )
          })}
          {hovered !== null &&
            series.map(({ name, color }) => (
              <circle key={name} cx={x(hovered)} cy={y(points[hovered]![name])} r={3.5} style={{ fill: color }} />
            ))}
        </svg>
        {hovered !== null && points[hovered] && (
          <Values
            {...props}
            point={points[hovered]}
            left={x(hovered)}
            isRight={x(hovered) > width / 2}
            isUnfinished={hovered >= unfinishedFrom}
          />
        )}
      </div>
      <ul className={classes.legend}>
        {series.map(({ name, label, color }) => (
          <li key={name}>
            <span className={classes.key} style={{ background: color }} />
            {label}
          </li>
        ))}
        {unfinishedFrom < points.length && (
          <li className="quiet">
            <span className={classes.dashes} />
            {t('chart.unfinished')}
          </li>
        )}
      </ul>
    </div>
  )
}

type ValuesProps<Name extends string> = LineChartProps<Name> & {
  point: { at: string } & Record<Name, number>
  left: number
  isRight: boolean
  isUnfinished: boolean
}

function Values<Name extends string>(props: ValuesProps<Name>) {
  const { point, series, formatTime, formatValue, left, isRight, isUnfinished } = props
  const { t } = useTranslation()
  return (
    <div className={classes.values} data-right={isRight || undefined} style={{ left }}>
      <strong>{formatTime(point.at)}</strong>
      {isUnfinished && <div className="quiet">{t('chart.unfinishedRow')}</div>}
      {series.map(({ name, label, color }) => (
        <div key={name} className={classes.value}>
          <span className={classes.key} style={{ background: color }} />
          {label}
          <span className={classes.figure}>{formatValue(point[name])}</span>
        </div>
      ))}
    </div>
  )
}

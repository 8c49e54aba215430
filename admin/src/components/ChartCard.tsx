import { Button, Group, Paper, Table, Text, Title } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import classes from './Panel.module.css'

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
    <Paper withBorder p="md" className={classes.panel}>
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

import { Table } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './facts.module.css'

/** What it is called, and what it is; one without a value is left out. */
type FactsProps = { facts: [name: string, value: ReactNode][] }

const known = ({ facts }: FactsProps) => facts.filter(([, value]) => value || value === 0)

/** Names and values, one under the other. */
export const Facts = (props: FactsProps) => (
  <dl className={classes.facts}>
    {known(props).map(([name, value]) => (
      <div key={name} className={classes.fact}>
        <dt className="quiet">{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** The same with lines between them. */
export const FactTable = ({ withTableBorder, ...props }: FactsProps & { withTableBorder?: boolean }) => (
  <Table variant="vertical" layout="fixed" withTableBorder={withTableBorder}>
    <Table.Tbody>
      {known(props).map(([name, value]) => (
        <Table.Tr key={name}>
          <Table.Th w={150} style={{ verticalAlign: 'top' }}>
            {name}
          </Table.Th>
          <Table.Td>{value}</Table.Td>
        </Table.Tr>
      ))}
    </Table.Tbody>
  </Table>
)

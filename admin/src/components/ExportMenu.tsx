import { Button, Menu } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useMay } from '../api/session.ts'

type ExportMenuProps = {
  path: string
  filter: Record<string, string | undefined>
  label: string
  /** What the formats are called. */
  formats: { csv: string; jsonl: string }
  rightSection?: ReactNode
}

/** What a list holds, as a file that the browser downloads. Files cannot be masked, so viewers do not get them. */
export function ExportMenu({ path, filter, label, formats, rightSection }: ExportMenuProps) {
  if (!useMay('support')) return null
  const filters = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<IconDownload size={16} />} rightSection={rightSection}>
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {(['csv', 'jsonl'] as const).map(format => (
          <Menu.Item
            key={format}
            component="a"
            href={`${path}?${new URLSearchParams([...filters, ['format', format]])}`}
            download
          >
            {formats[format]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

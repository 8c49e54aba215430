import { Button, Group, Text } from '@mantine/core'
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'

export type PagesProps = {
  /** Undefined: there is no such page. */
  onPrevious: (() => void) | undefined
  onNext: (() => void) | undefined
  /** What was searched: "1,240 in the last 24 h". */
  summary?: ReactNode
}

/** Cursor pages: there is no page number, because rows come and go meanwhile. */
export function Pages({ onPrevious, onNext, summary }: PagesProps) {
  const { t } = useTranslation()
  return (
    <Group justify="space-between" mt="xs" gap="xs">
      <Text size="sm" className="quiet" component="div">
        {summary}
      </Text>
      {(onPrevious || onNext) && (
        <Group gap="xs">
          <Button
            size="compact-md"
            variant="default"
            disabled={!onPrevious}
            onClick={onPrevious}
            leftSection={<IconChevronLeft size={16} />}
          >
            {t('table.previous')}
          </Button>
          <Button
            size="compact-md"
            variant="default"
            disabled={!onNext}
            onClick={onNext}
            rightSection={<IconChevronRight size={16} />}
          >
            {t('table.next')}
          </Button>
        </Group>
      )}
    </Group>
  )
}

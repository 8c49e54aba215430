import { Alert, Button, Group, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useErrorText } from '../../components/error-text.ts'
import classes from './emails.module.css'
import { searchEmails } from './queries.ts'
import { type EmailSearch, LOOKUPS, lookupOf } from './search-params.ts'

/** Recognises what was typed. The URL then holds what was looked up: of an address its hash, so that a link tells no address. */
export function SearchBox({ search, onSearch }: { search: EmailSearch; onSearch: (next: EmailSearch) => void }) {
  const { t } = useTranslation('emails')
  const errorText = useErrorText()
  const navigate = useNavigate()
  const by = lookupOf(search)
  const fromUrl = by && by !== 'recipient' ? search[by]! : ''
  const [text, setText] = useState(fromUrl)
  // A link, or Back, leads to another search: the box follows. What is typed stays until then.
  const place = by ? `${by} ${search[by]}` : ''
  const [shown, setShown] = useState(place)
  if (shown !== place) {
    setShown(place)
    // Of an address the URL has the hash only: what was typed for it stays.
    setText(before => (by === 'recipient' && before.includes('@') ? before : fromUrl))
  }
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === '') return onSearch(withoutLookup(search))
    setBusy(true)
    setError(null)
    try {
      const { lookup, data } = await searchEmails(text)
      const [only] = data
      if (lookup!.by === 'id' && only) await navigate({ to: '/emails/$outboxId', params: { outboxId: only.outboxId } })
      else onSearch({ [lookup!.by]: lookup!.value })
    } catch (refusal) {
      setError(refusal)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={submit}>
      <Group gap="xs" wrap="nowrap">
        <TextInput
          className={classes.search}
          aria-label={t('search')}
          placeholder={t('searchHint')}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={text}
          onChange={event => setText(event.currentTarget.value)}
          maxLength={998}
          spellCheck={false}
          autoComplete="off"
        />
        <Button type="submit" loading={busy}>
          {t('searchButton')}
        </Button>
      </Group>
      {error !== null && (
        <Alert color="red" variant="light" role="alert" mt="xs" py="xs">
          {errorText(error)}
        </Alert>
      )}
      {by && (
        <Group gap={6} mt="xs" fz="sm">
          <span className="quiet">{t(`lookups.${by}`)}</span>
          <span className="mono">{short(search[by]!)}</span>
          <Button
            size="compact-xs"
            variant="default"
            onClick={() => {
              setText('')
              onSearch(withoutLookup(search))
            }}
          >
            {t('clearSearch')}
          </Button>
        </Group>
      )}
    </form>
  )
}

const short = (value: string) => (value.length > 44 ? `${value.slice(0, 20)}…` : value)

function withoutLookup(search: EmailSearch): EmailSearch {
  const rest = { ...search }
  for (const name of [...LOOKUPS, 'olderThan', 'newerThan'] as const) delete rest[name]
  return rest
}

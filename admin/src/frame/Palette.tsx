import { Kbd, Modal, TextInput, UnstyledButton } from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { IconArrowRight, IconAt, IconBuilding, IconMail, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { api, take } from '../api/client.ts'
import { companiesQuery } from '../api/companies.ts'
import { useErrorText } from '../components/error-text.ts'
import { notify } from '../components/notify.ts'
import { useEscape } from '../lib/keyboard.ts'
import { useNavigation } from './navigation.ts'
import classes from './Palette.module.css'
import { type PaletteEntry, paletteEntries } from './palette-entries.ts'

const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K'

/** The command palette: by id, address, company or view. Ctrl K or ⌘K opens it from anywhere. */
export function Palette() {
  const { t } = useTranslation()
  const [opened, { open, close }] = useDisclosure()
  useEscape(opened, close)
  // An empty list: it opens also while a field has the focus.
  useHotkeys([['mod+K', open]], [])
  return (
    <>
      <UnstyledButton className={classes.button} onClick={open} aria-haspopup="dialog">
        <IconSearch size={16} aria-hidden />
        <span className={classes.hint}>{t('header.search')}</span>
        <Kbd size="xs" className={classes.keys}>
          {SHORTCUT}
        </Kbd>
      </UnstyledButton>
      <Modal
        opened={opened}
        onClose={close}
        withCloseButton={false}
        padding={0}
        yOffset="12vh"
        centered={false}
        attributes={{ content: { 'aria-label': t('palette.title') } }}
      >
        <PaletteSearch onDone={close} />
      </Modal>
    </>
  )
}

function PaletteSearch({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation()
  const id = useId()
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const { data: companies } = useQuery(companiesQuery)
  const go = useGo(onDone)
  const views = useNavigation().map(view => ({ to: view.to, name: t(`nav.${view.text}`) }))
  const entries = paletteEntries(text, companies?.data ?? [], views)
  const active = Math.min(chosen, entries.length - 1)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(entries.length - 1, active + 1))
    else if (event.key === 'ArrowUp') setChosen(Math.max(0, active - 1))
    else if (event.key === 'Enter' && entries[active]) go(entries[active])
    else return
    event.preventDefault()
  }
  return (
    <div>
      <TextInput
        data-autofocus
        variant="unstyled"
        size="md"
        px="md"
        leftSection={<IconSearch size={18} aria-hidden />}
        placeholder={t('palette.placeholder')}
        aria-label={t('palette.placeholder')}
        value={text}
        maxLength={998}
        role="combobox"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={entries.length > 0 ? `${id}-${active}` : undefined}
        onKeyDown={onKeyDown}
        onChange={event => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
      />
      <div id={id} role="listbox" aria-label={t('palette.title')} className={classes.list}>
        {entries.map((entry, index) => (
          <PaletteOption
            key={JSON.stringify(entry)}
            id={`${id}-${index}`}
            entry={entry}
            isActive={index === active}
            onHover={() => setChosen(index)}
            onChoose={() => go(entry)}
          />
        ))}
      </div>
    </div>
  )
}

function useGo(onDone: () => void) {
  const navigate = useNavigate()
  const errorText = useErrorText()
  const lookUp = async (text: string) => {
    try {
      await navigate({ to: '/emails', search: await lookupOf(text) })
    } catch (error) {
      notify.failed(errorText(error))
    }
  }
  return (entry: PaletteEntry) => {
    onDone()
    switch (entry.kind) {
      case 'email':
        return void navigate({ to: '/emails/$outboxId', params: { outboxId: entry.id } })
      case 'address':
        return void lookUp(entry.address)
      case 'search':
        return void lookUp(entry.text)
      case 'company':
        return void navigate({ to: '/companies/$companyId', params: { companyId: entry.companyId } })
      case 'view':
        return void navigate({ to: entry.to })
    }
  }
}

/** The gateway recognises what was typed. The URL then holds the hash of an address, never the address. */
async function lookupOf(search: string) {
  const { lookup } = await take(api.POST('/admin/emails/search', { body: { search, limit: 1 } }))
  return lookup ? { [lookup.by]: lookup.value } : {}
}

const ICONS = { email: IconMail, address: IconAt, search: IconSearch, company: IconBuilding, view: IconArrowRight }

type PaletteOptionProps = {
  id: string
  entry: PaletteEntry
  isActive: boolean
  onHover: () => void
  onChoose: () => void
}

function PaletteOption({ id, entry, isActive, onHover, onChoose }: PaletteOptionProps) {
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

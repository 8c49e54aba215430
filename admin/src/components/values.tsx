import {
  ActionIcon,
  Anchor,
  type AnchorProps,
  Button,
  type ButtonProps,
  CopyButton as Copying,
  Spoiler,
  Tooltip,
} from '@mantine/core'
import { type Icon, IconCheck, IconCopy } from '@tabler/icons-react'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, ReactNode, Ref } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../lib/format.ts'
import { useNow } from '../lib/now.ts'
import { shortId } from '../lib/short-id.ts'
import classes from './values.module.css'

/** An address or a code: where it has to break, it breaks before an @ or a dot, or after an underscore. */
export function BreakableText({ text }: { text: string }) {
  return text.split(/(?=[@.])|(?<=_)/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts are in their order.
    <span key={index}>
      {index > 0 && <wbr />}
      {part}
    </span>
  ))
}

const FOUR_LINES_PX = 84

/** A text that may be very long, such as a URL: four lines of it, and a button that shows all. */
export function LongText({ children }: { children: ReactNode }) {
  const { t } = useTranslation()
  return (
    <Spoiler maxHeight={FOUR_LINES_PX} showLabel={t('longText.all')} hideLabel={t('longText.less')}>
      {children}
    </Spoiler>
  )
}

/** A relative time with the exact one on hover; `exact` shows the exact one, for details. */
export function TimeText({ at, exact = false }: { at: string | Date | null | undefined; exact?: boolean }) {
  const format = useFormat()
  const now = useNow()
  if (!at) return NONE
  const iso = typeof at === 'string' ? at : at.toISOString()
  if (exact) return <time dateTime={iso}>{format.exact(at)}</time>
  return (
    <Tooltip label={format.exact(at)}>
      <time dateTime={iso}>{format.relative(at, notBefore(iso, now))}</time>
    </Tooltip>
  )
}

/** The clock of the page ticks every few seconds: what happened since the last tick is now, not in the future. */
const notBefore = (iso: string, now: number) => Math.max(now, Math.min(Date.parse(iso), Date.now()))

/** An id shortened to eight characters, with the whole one on hover and to copy. */
export function IdText({ id, whole = false }: { id: string; whole?: boolean }) {
  const short = whole ? id : shortId(id)
  return (
    <span className={classes.id} data-whole={whole}>
      <Tooltip label={id} disabled={short === id}>
        <span className="mono">{short}</span>
      </Tooltip>
      <CopyButton value={id} label={id} />
    </span>
  )
}

/** `label` says what is copied, for screen readers. */
export function CopyButton({ value, label }: { value: string; label?: string }) {
  const { t } = useTranslation()
  return (
    <Copying value={value} timeout={1_500}>
      {({ copied, copy }) => (
        <Tooltip label={t(copied ? 'copy.copied' : 'copy.copy')}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={label ? `${t('copy.copy')}: ${label}` : t('copy.copy')}
            onClick={event => {
              event.stopPropagation()
              copy()
            }}
          >
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        </Tooltip>
      )}
    </Copying>
  )
}

/** A command or a text to copy; long lines break. */
export function CodeBlock({ code }: { code: string }) {
  return (
    <div className={classes.box}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long block scrolls, which the keyboard must be able to do */}
      <pre className={classes.code} tabIndex={0}>
        {code}
      </pre>
      <CopyButton value={code} />
    </div>
  )
}

export type ToneName = 'green' | 'blue' | 'grey' | 'amber' | 'red' | 'violet'

export type ToneLook = readonly [tone: ToneName, icon: Icon]

/** A state: an icon, a word and one colour. Never colour alone. */
export function Tone({ look, children }: { look: ToneLook; children: ReactNode }) {
  const [tone, Icon] = look
  return (
    <span className={classes.tone} data-tone={tone}>
      <Icon size={14} stroke={2} aria-hidden />
      {children}
    </span>
  )
}

type Element = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps> & { ref?: Ref<HTMLAnchorElement> }

/** A link to a view, checked by the compiler: `<TextLink to="/emails/$outboxId" params={{ outboxId }}>`. */
export const TextLink = createLink((props: AnchorProps & Element) => <Anchor {...props} />)

/** The same, as a button. */
export const ButtonLink = createLink((props: ButtonProps & Omit<Element, keyof ButtonProps>) => (
  <Button component="a" {...props} />
))

/** Where there is no value. */
export const NONE = <span className="quiet">–</span>

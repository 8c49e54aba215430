import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core'
import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, Ref } from 'react'

type Element = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, keyof AnchorProps> & { ref?: Ref<HTMLAnchorElement> }

/** A link to a view, checked by the compiler: `<TextLink to="/emails/$outboxId" params={{ outboxId }}>`. */
export const TextLink = createLink((props: AnchorProps & Element) => <Anchor {...props} />)

/** The same, as a button. */
export const ButtonLink = createLink((props: ButtonProps & Omit<Element, keyof ButtonProps>) => (
  <Button component="a" {...props} />
))

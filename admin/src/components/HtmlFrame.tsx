import { useMemo } from 'react'
import { styleNonce } from '../theme.ts'
import classes from './HtmlFrame.module.css'

/**
 * HTML of an e-mail in a sandbox: no script runs and nothing is loaded from outside, by the sandbox and by the policy of the page, which
 * the frame inherits. Its style elements get the nonce of the page, or the policy would refuse them. Its link elements are taken out of
 * use: no policy keeps a browser from connecting to the host of `<link rel="preconnect">`.
 */
export function HtmlFrame({ html, title }: { html: string; title: string }) {
  const shown = useMemo(() => withNonce(html).replaceAll(/<link(?=[\s/>])/gi, '<x-link'), [html])
  return <iframe className={classes.frame} sandbox="" srcDoc={shown} title={title} referrerPolicy="no-referrer" />
}

/** In the text, not by a parser: a document of the parser is under the policy already, and would be reported. */
const withNonce = (html: string) => html.replaceAll(/<style\b/gi, match => `${match} nonce="${styleNonce()}"`)

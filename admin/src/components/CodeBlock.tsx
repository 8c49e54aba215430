import classes from './CodeBlock.module.css'
import { CopyButton } from './CopyButton.tsx'

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

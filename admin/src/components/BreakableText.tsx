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

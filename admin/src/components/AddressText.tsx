/** An address breaks before its @ and dots first, when it has to break. */
export function AddressText({ address }: { address: string }) {
  return address.split(/(?=[@.])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts are in their order.
    <span key={index}>
      {index > 0 && <wbr />}
      {part}
    </span>
  ))
}

/** The first eight bytes of an address hash as a Postgres bigint: the narrow key by which recipients are indexed. */
export function addressKey(hash: string): string {
  return BigInt.asIntN(64, BigInt(`0x${hash.slice(7, 23)}`)).toString()
}

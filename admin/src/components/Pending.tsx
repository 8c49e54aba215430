import { Skeleton, Stack } from '@mantine/core'

/** While a view itself is loaded. */
export const Pending = () => (
  <Stack gap="md" aria-busy>
    <Skeleton height={26} width={180} />
    <Skeleton height={36} />
    <Skeleton height={240} />
  </Stack>
)

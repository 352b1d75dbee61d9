import { Button, Group, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'

interface PagedProps<T> {
  /** What is listed, in the plural. */
  readonly label: string
  readonly items: readonly T[]
  /** Items on a page. */
  readonly size?: number
  readonly children: (item: T, index: number) => ReactNode
  /** What the items are in, such as a `ul`. */
  readonly within?: (items: ReactNode) => ReactNode
}

/** A page of a list: browsers cannot show thousands of items at once. */
export function Paged<T>({ label, items, size = 50, children, within }: PagedProps<T>) {
  const [chosen, setChosen] = useState(0)
  const last = Math.max(0, Math.ceil(items.length / size) - 1)
  // A search can leave fewer pages.
  const page = Math.min(chosen, last)
  const first = page * size
  const shown = items.slice(first, first + size)
  const drawn = shown.map((item, index) => children(item, first + index))
  return (
    <>
      {within === undefined ? drawn : within(drawn)}
      {last === 0 ? null : (
        <Group component="nav" aria-label={`Pages of ${label}`} gap="sm">
          <Button
            size="xs"
            variant="default"
            disabled={page === 0}
            onClick={() => setChosen(page - 1)}
          >
            Previous
          </Button>
          <Text size="sm" role="status">
            {first + 1} to {first + shown.length} of {items.length.toLocaleString()} {label}
          </Text>
          <Button
            size="xs"
            variant="default"
            disabled={page === last}
            onClick={() => setChosen(page + 1)}
          >
            Next
          </Button>
        </Group>
      )}
    </>
  )
}

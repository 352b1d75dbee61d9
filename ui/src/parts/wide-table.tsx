import { Table } from '@mantine/core'
import type { ReactNode } from 'react'

interface WideTableProps {
  readonly label: string
  /** Below this width the table scrolls, with the keyboard too. */
  readonly minWidth: number
  readonly children: ReactNode
}

export function WideTable({ label, minWidth, children }: WideTableProps) {
  const viewportProps = { tabIndex: 0, role: 'group', 'aria-label': label }
  return (
    <Table.ScrollContainer minWidth={minWidth} scrollAreaProps={{ viewportProps }}>
      <Table className="wide-table">{children}</Table>
    </Table.ScrollContainer>
  )
}

import { Button } from '@mantine/core'
import type { ReactNode } from 'react'

interface RemovableFieldProps {
  readonly name: string
  readonly isRemovable: boolean
  readonly remove: () => void
  readonly children: ReactNode
}

export function RemovableField({ name, isRemovable, remove, children }: RemovableFieldProps) {
  return (
    <div className="removable">
      <div className="grow">{children}</div>
      {isRemovable ? (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          aria-label={`Remove ${name}`}
          onClick={remove}
          className="remove"
        >
          ×
        </Button>
      ) : null}
    </div>
  )
}

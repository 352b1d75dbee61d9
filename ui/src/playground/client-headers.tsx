import { Textarea } from '@mantine/core'

interface Properties {
  /** What a client usually sends. */
  readonly example: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Headers that a playground sends in the name of a client. */
export function ClientHeaders({ example, value, onChange }: Properties) {
  return (
    <Textarea
      label="Client headers"
      description={`Headers that rules read, such as ${example}; one per line, name: value`}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      autosize
      minRows={2}
    />
  )
}

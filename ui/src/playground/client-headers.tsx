import { Textarea } from '@mantine/core'

interface Properties {
  /** An example of a header that clients usually send. */
  readonly example: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Headers that a playground sends on behalf of a client. */
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

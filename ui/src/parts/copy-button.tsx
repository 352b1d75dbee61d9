import { Button } from '@mantine/core'
import { useState } from 'react'

interface CopyButtonProps {
  readonly text: string
  /** What is copied, for screen readers. */
  readonly what: string
}

export function CopyButton({ text, what }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <Button size="xs" variant="default" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <span role="status">{isCopied ? 'Copied' : 'Copy'}</span>
    </Button>
  )
}

/** Pages without TLS have no clipboard API, except those of this machine. */
async function copyText(text: string): Promise<void> {
  const clipboard = navigator.clipboard as Clipboard | undefined
  if (clipboard !== undefined) {
    const isDone = await clipboard.writeText(text).then(
      () => true,
      () => false,
    )
    if (isDone) return
  }
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

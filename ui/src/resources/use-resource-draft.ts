import { useMemo } from 'react'
import { drafts, useDrafts } from '../drafts/drafts.ts'
import { isSame, readText, textOf, withValue } from '../text/with-value.ts'

/** What is stored of a resource; a new one has no value yet. */
export interface Stored {
  /** `none` for a new resource. */
  readonly etag: string
  readonly value: unknown
}

export interface ResourceDraft {
  readonly value: unknown
  readonly text: string
  /** The value of the text, or none if the text has errors. */
  readonly isReadable: boolean
  readonly isChanged: boolean
  readonly base: Stored
  readonly setValue: (value: unknown) => void
  readonly setText: (text: string) => void
  /** Goes on with what is stored now as the base. */
  readonly rebase: () => void
  readonly discard: () => void
}

/** The unsaved version of a resource: its value, and its text with comments. */
export function useResourceDraft(name: string, stored: Stored, page: string): ResourceDraft {
  const draft = useDrafts().get(name)
  const storedText = useMemo(
    () => (stored.value === undefined ? '' : textOf(stored.value)),
    [stored],
  )
  const value = draft === undefined ? stored.value : draft.value
  const base = (draft?.base as Stored | undefined) ?? stored
  const text = draft === undefined ? storedText : (draft.text ?? textOf(draft.value))
  const isReadable = useMemo(() => 'value' in readText(text), [text])
  const set = (next: unknown, nextText: string) => {
    const isStored = nextText === storedText && isSame(next, stored.value)
    drafts.set(name, isStored ? undefined : { base, value: next, text: nextText, page })
  }
  return {
    value,
    text,
    isReadable,
    isChanged: !isSame(value, stored.value),
    base,
    setValue: (next) => {
      const isBack = isSame(next, stored.value)
      set(next, isBack ? storedText : withValue(text, next))
    },
    setText: (next) => {
      const read = readText(next)
      set('value' in read ? (read.value ?? undefined) : value, next)
    },
    rebase: () => drafts.set(name, { base: stored, value, text, page }),
    discard: () => drafts.set(name, undefined),
  }
}

import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { stringify } from 'yaml'
import type { Change, Diagnostic } from '../api/shapes.ts'
import { OutdatedNote } from '../drafts/outdated-note.tsx'
import type { Kind } from '../forms/schema.ts'
import { useIsReadOnly } from '../health.ts'
import { TextDiff } from '../history/text-diff.tsx'
import { PlaceContext } from '../parts/diagnostics.tsx'
import { RoleNote } from '../parts/states.tsx'
import { Effect } from '../policies/effect.tsx'
import { useMay } from '../session.ts'
import { Save } from './save.tsx'
import type { ResourceDraft, Stored } from './use-resource-draft.ts'

interface ResourceEditingProps {
  readonly kind: Kind
  /** Empty if a new resource has no name yet. */
  readonly id: string
  readonly stored: Stored
  readonly draft: ResourceDraft
  /** Mistakes that would be rejected. */
  readonly mistakes: number
  /** Where a message is in what is shown. */
  readonly placeOf: (found: Diagnostic) => string | undefined
  readonly saved: () => void
  /** Reads what is stored now, and keeps the draft. */
  readonly compare: () => void
  /** The fields. */
  readonly children: ReactNode
}

/** What every editor of a resource has: the effect of a change, and saving it. */
export function ResourceEditing(props: ResourceEditingProps) {
  const { kind, id, stored, draft, mistakes, placeOf, saved, compare, children } = props
  const { value, base, isChanged, isReadable } = draft
  const [previewed, setPreviewed] = useState<unknown>()
  const [seen, setSeen] = useState<unknown>()
  const isReadOnly = useIsReadOnly()
  const mayEdit = useMay('editor')
  const changes = useMemo<readonly Change[]>(
    () => [{ action: 'set', kind, id, value: previewed }],
    [kind, id, previewed],
  )
  const done = useCallback(
    (isValid: boolean) => setSeen(isValid ? previewed : undefined),
    [previewed],
  )
  return (
    <PlaceContext value={placeOf}>
      <Stack gap="lg">
        {base.etag === stored.etag ? null : (
          <OutdatedNote keep={draft.rebase} discard={draft.discard}>
            <TextDiff before={stringify(base.value)} after={stringify(stored.value)} />
          </OutdatedNote>
        )}
        {children}
        <Group>
          <Button
            disabled={!isChanged || !isReadable || mistakes > 0 || id === ''}
            onClick={() => {
              setSeen(undefined)
              setPreviewed(value)
            }}
          >
            See the effect
          </Button>
          <Button variant="default" disabled={!isChanged} onClick={draft.discard}>
            Undo all changes
          </Button>
          <Text size="sm" role="status">
            {statusOf(props)}
          </Text>
        </Group>
        {previewed === undefined ? null : <Effect changes={changes} done={done} />}
        {isChanged && isReadOnly === true ? <ForTheFile kind={kind} value={value} /> : null}
        {isChanged && isReadOnly === false ? <RoleNote needs="editor" to="save changes" /> : null}
        {isChanged && isReadOnly === false && mayEdit ? (
          <Save
            kind={kind}
            id={id}
            etag={base.etag}
            value={value}
            isSeen={seen !== undefined && seen === value}
            saved={() => {
              draft.discard()
              saved()
            }}
            compare={compare}
          />
        ) : null}
      </Stack>
    </PlaceContext>
  )
}

function statusOf({ id, mistakes, draft }: ResourceEditingProps): string {
  if (!draft.isReadable) return 'The text is not YAML yet.'
  if (!draft.isChanged) return 'Nothing changed yet.'
  if (id === '') return 'Give it a name first.'
  return mistakes > 0 ? `${mistakes} ${mistakes === 1 ? 'mistake' : 'mistakes'} to fix first` : ''
}

function ForTheFile({ kind, value }: { readonly kind: string; readonly value: unknown }) {
  return (
    <div>
      <Title order={3} size="h5" mb={4}>
        For the file
      </Title>
      <Text size="sm">Replace the item in `{kind}` with this to apply the change:</Text>
      <pre className="box expression">{stringify(value)}</pre>
    </div>
  )
}

import { SegmentedControl, Stack, Text, TextInput, Title } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import { resourcePath } from '../api/client.ts'
import type { Diagnostic, Resource } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { useDrafts } from '../drafts/drafts.ts'
import { focusField } from '../forms/form-context.ts'
import { newKeys } from '../forms/new-keys.ts'
import type { Kind } from '../forms/schema.ts'
import { SchemaForm } from '../forms/schema-form.tsx'
import { HINTS, started } from '../kinds/hints.ts'
import { isKind, KINDS, nameIn, shapeOfKind } from '../kinds/resource-id.ts'
import { Empty, Loading, Page, Problem, ReadOnlyNote } from '../parts/states.tsx'
import { Provenance } from '../policies/provenance.tsx'
import { Orphan } from '../policies/resource-editor.tsx'
import { Revert } from '../policies/revert.tsx'
import { editPath, rulesPath } from '../resources/paths.ts'
import { ResourceEditing } from '../resources/resource-editing.tsx'
import { SavedNote } from '../resources/saved-note.tsx'
import { StartButtons } from '../resources/start-buttons.tsx'
import { type Stored, useResourceDraft } from '../resources/use-resource-draft.ts'
import { replacePlace, usePlace } from '../router.ts'
import { nameOfPath } from '../text/places.ts'
import { TextPane } from '../text/text-pane.tsx'
import { marksOf, useMarks } from '../text/use-marks.ts'

/** All settings of a resource: `edit/KIND/ID`, or `new/KIND`. */
export function ResourcePage() {
  const { path } = usePlace()
  const [page, kind = '', id = ''] = path.split('/').map(decodeURIComponent)
  // A key that was generated here is shown as long as its resource is.
  useEffect(
    () => () => {
      if (!/^\/ui\/(edit|new)\//.test(location.pathname)) newKeys.clear()
    },
    [],
  )
  if (!isKind(kind)) {
    return (
      <Page title="Unknown kind">
        <Empty title={`There are no resources of the kind ${kind}`}>
          <a href="/ui/config">All resources</a>
        </Empty>
      </Page>
    )
  }
  if (page === 'edit') return <Existing key={path} kind={kind} id={id} />
  if (shapeOfKind(kind) === 'single') return <Existing key={path} kind={kind} id="default" />
  return <New key={path} kind={kind} />
}

function Existing({ kind, id }: { readonly kind: Kind; readonly id: string }) {
  const { data, problem, reload } = useApi<Resource>(resourcePath(kind, id))
  const name = `${kind}/${id}`
  const draft = useDrafts().get(name)
  const isAbsent = problem?.status === 404 || data?.isHidden === true
  const isNew = isAbsent && shapeOfKind(kind) === 'single'
  return (
    <Page
      title={`${kind} / ${id}`}
      lead={HINTS[kind].what}
      actions={data === undefined ? null : <a href={`/ui/${rulesPath(kind, id)}`}>Rules only</a>}
    >
      <ReadOnlyNote />
      <SavedNote name={name} undone={reload} />
      {problem === undefined || isNew ? null : <Problem problem={problem} retry={reload} />}
      {data === undefined && problem === undefined ? <Loading label="Reading it" /> : null}
      {isAbsent && !isNew && draft !== undefined ? (
        <Orphan name={name} value={draft.value} />
      ) : null}
      {isNew ? (
        <Editing kind={kind} id={id} name={name} stored={NEW_RESOURCES[kind]} saved={reload} />
      ) : null}
      {data === undefined || isAbsent ? null : (
        <>
          <Editing key={data.etag} kind={kind} id={id} name={name} stored={data} saved={reload} />
          <Revert key={`file ${data.etag}`} resource={data} done={reload} />
          <Provenance key={`origins ${data.etag}`} resource={data} />
        </>
      )}
    </Page>
  )
}

/** What a new resource begins with. */
const NEW_RESOURCES = Object.fromEntries(
  KINDS.map((kind) => [kind, { etag: 'none', value: HINTS[kind].start }]),
) as Readonly<Record<Kind, Stored>>

function New({ kind }: { readonly kind: Kind }) {
  const name = `new/${kind}`
  const isRecord = shapeOfKind(kind) === 'record'
  const draft = useDrafts().get(name)
  const [typed, setTyped] = useState('')
  const id = isRecord ? typed.trim() : (nameIn(draft?.value) ?? '')
  const { noun, what } = HINTS[kind]
  return (
    <Page title={`Add ${noun}`} lead={what}>
      <ReadOnlyNote />
      {isRecord ? (
        <TextInput
          label="Name"
          required
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          maw={320}
        />
      ) : null}
      <Editing
        kind={kind}
        id={id}
        name={name}
        stored={NEW_RESOURCES[kind]}
        saved={() => replacePlace(`/ui/${editPath(kind, id)}`)}
      />
    </Page>
  )
}

interface EditingProps {
  readonly kind: Kind
  readonly id: string
  /** The name of the draft. */
  readonly name: string
  readonly stored: Stored
  readonly saved: () => void
}

const VIEWS = [
  { value: 'both', label: 'Form and text' },
  { value: 'form', label: 'Form' },
  { value: 'text', label: 'Text' },
]

function Editing({ kind, id, name, stored, saved }: EditingProps) {
  const page = name.startsWith('new/') ? name : editPath(kind, id)
  const draft = useResourceDraft(name, stored, page)
  const { value, text, isReadable, setValue, setText } = draft
  const marks = useMarks(kind, id, text)
  const [view, setView] = useState('both')
  const hints = HINTS[kind]
  useEffect(() => {
    // What a button on another page adds; once, whatever is rendered again.
    const query = new URLSearchParams(location.search)
    const ids = query.getAll('add')
    if (ids.length === 0) return
    replacePlace(location.pathname)
    let next = value ?? hints.start
    let path: readonly (string | number)[] = []
    for (const one of ids) {
      const start = hints.starts.find((own) => own.id === one)
      if (start === undefined) continue
      const added = started(next, start)
      next = added.value
      if (path.length === 0) path = added.path
    }
    setValue(next)
    focusField(path)
  })
  const placeOf = useMemo(() => {
    return (found: Diagnostic) => {
      const [own] = marksOf(kind, id, text, [found])
      const same = marks.find(
        ({ code, message }) => code === found.code && message === found.message,
      )
      const mark = own ?? same
      if (mark === undefined) return undefined
      const field = nameOfPath(mark.path)
      return `line ${mark.line} of the text${field === '' ? '' : `: ${field}`}`
    }
  }, [kind, id, text, marks])
  const mistakes = marks.filter(({ severity }) => severity === 'error').length
  return (
    <ResourceEditing
      kind={kind}
      id={id}
      stored={stored}
      draft={draft}
      mistakes={mistakes}
      placeOf={placeOf}
      saved={saved}
      compare={saved}
    >
      <StartButtons kind={kind} value={value} onChange={setValue} />
      <SegmentedControl
        aria-label="View"
        data={VIEWS}
        value={view}
        onChange={setView}
        w="fit-content"
      />
      <div className={view === 'both' ? 'form-and-text' : undefined}>
        {view === 'text' ? null : (
          <section aria-label="Form">
            <Title order={2} size="h4" mb="xs">
              Form
            </Title>
            {isReadable ? (
              <SchemaForm
                kind={kind}
                value={value}
                onChange={setValue}
                marks={marks}
                isReadOnly={false}
              />
            ) : (
              <Text size="sm">The text is not YAML yet: fix it first.</Text>
            )}
          </section>
        )}
        {view === 'form' ? null : (
          <section aria-label="Text">
            <Title order={2} size="h4" mb="xs">
              Text
            </Title>
            <Stack gap="xs">
              <TextPane
                kind={kind}
                id={id}
                text={text}
                onChange={setText}
                marks={marks}
                isReadOnly={false}
              />
            </Stack>
          </section>
        )}
      </div>
    </ResourceEditing>
  )
}

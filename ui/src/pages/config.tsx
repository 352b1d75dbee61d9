import { yaml } from '@codemirror/lang-yaml'
import { linter, type Diagnostic as Mark } from '@codemirror/lint'
import { Button, Group, SegmentedControl, Stack, Text, TextInput } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import { parseDocument } from 'yaml'
import { type ApiProblem, call, send } from '../api/client.ts'
import type { Change, ConfigOutline, ResourceSummary } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { changesIn } from '../config/changes-in.ts'
import { ResourceList } from '../config/resource-list.tsx'
import { keyCompletion, loadSchema } from '../config/schema-support.ts'
import { CONFIGURATION, drafts, useDrafts } from '../drafts/drafts.ts'
import { OutdatedNote } from '../drafts/outdated-note.tsx'
import { CodeEditor } from '../editor/code-editor.tsx'
import { useHealth, useIsReadOnly } from '../health.ts'
import { Loading, Page, Problem, ReadOnlyNote, RoleNote } from '../parts/states.tsx'
import { Effect } from '../policies/effect.tsx'
import { useMay } from '../session.ts'

const VIEWS = [
  { value: 'effective', label: 'Effective' },
  { value: 'baseline', label: 'File' },
  { value: 'edits', label: 'My edits' },
]

/** The whole configuration as YAML: the effective one, the file, and the edits. */
export function Config() {
  const outline = useApi<ConfigOutline>('/api/config')
  const isReadOnly = useIsReadOnly()
  const mayEdit = useMay('editor')
  const [view, setView] = useState('effective')
  const [text, setText] = useState<string>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [round, setRound] = useState(0)
  useEffect(() => {
    void round
    const aborting = new AbortController()
    setText(undefined)
    textOf(view, aborting.signal)
      .then(setText)
      .catch((error: ApiProblem) => {
        if (!aborting.signal.aborted) setProblem(error)
      })
    return () => aborting.abort()
  }, [view, round])
  return (
    <Page title="Configuration" lead={outline.data?.file}>
      <ReadOnlyNote file={outline.data?.file} />
      {isReadOnly === false ? <RoleNote needs="editor" to="change it" /> : null}
      <Group justify="space-between">
        <SegmentedControl aria-label="View" data={VIEWS} value={view} onChange={setView} />
        <Button
          component="a"
          variant="default"
          href={`data:application/yaml;charset=utf-8,${encodeURIComponent(text ?? '')}`}
          download={`${view}.yaml`}
        >
          Download
        </Button>
      </Group>
      {outline.data === undefined ? null : <Edits outline={outline.data} />}
      <ResourceList />
      {problem === undefined ? null : <Problem problem={problem} />}
      {text === undefined && problem === undefined ? <Loading label="Reading it" /> : null}
      {text === undefined ? null : (
        <Editing
          key={`${view} ${round}`}
          text={text}
          canStore={isReadOnly === false && mayEdit && view === 'effective'}
          read={setText}
          stored={() => setRound(round + 1)}
        />
      )}
    </Page>
  )
}

function Edits({ outline }: { readonly outline: ConfigOutline }) {
  const { merged, added, hidden, drifted } = outline.edits
  if (outline.mode === 'readonly') return null
  return (
    <Text size="sm" c="dimmed">
      Revision {outline.revision}: {merged} resources edited, {added} added, {hidden} deleted;{' '}
      {drifted} where the file has changed since the edit.
    </Text>
  )
}

interface MeanwhileProps {
  readonly base: string
  readonly text: string
  readonly now: string
}

/** Saving stores the resources that the draft changes, and no others. */
function Meanwhile({ base, text, now }: MeanwhileProps) {
  const theirs = useMemo(() => namesIn(base, text), [base, text])
  const own = new Set(marksOf(now).length > 0 ? [] : namesIn(base, now))
  const both = theirs.filter((name) => own.has(name))
  return (
    <>
      <Text size="sm" className="expression">
        {theirs.join(', ')}
      </Text>
      <Text size="sm">
        {both.length === 0
          ? 'You changed other resources: saving stores these alone.'
          : `You changed ${both.join(', ')}, too: saving replaces what was stored meanwhile.`}
      </Text>
    </>
  )
}

/** The resources that differ. */
function namesIn(before: string, after: string): readonly string[] {
  return changesIn(before, after, []).map(({ kind, id }) => `${kind}/${id}`)
}

interface TextDraft {
  readonly base: string
  readonly value: string
}

/** Changes whose effect is previewed, and the text from which they were read. */
interface Preview {
  readonly text: string
  readonly changes: readonly Change[]
}

interface EditingProps {
  /** What is stored, as of the last read. */
  readonly text: string
  readonly canStore: boolean
  readonly read: (text: string) => void
  readonly stored: () => void
}

function Editing({ text, canStore, read, stored }: EditingProps) {
  const draft = useDrafts().get(CONFIGURATION)
  const own = canStore ? (draft as TextDraft | undefined) : undefined
  const { base, value: now } = own ?? { base: text, value: text }
  const setNow = (value: string) =>
    drafts.set(CONFIGURATION, value === base ? undefined : { base, value })
  const [comment, setComment] = useState('')
  const [problem, setProblem] = useState<ApiProblem>()
  const [preview, setPreview] = useState<Preview>()
  const [seen, setSeen] = useState<string>()
  const health = useHealth()
  const extensions = useMemo(
    () => [yaml(), linter((view) => marksOf(view.state.doc.toString())), keyCompletion(loadSchema)],
    [],
  )
  const isChanged = now !== base
  const look = async () => {
    setSeen(undefined)
    setPreview(undefined)
    try {
      const { resources } = await call<{ resources: readonly ResourceSummary[] }>(
        '/api/config/resources',
      )
      // Read after the ETags: whatever is stored later is a conflict.
      read(await textOf('effective'))
      setProblem(undefined)
      setPreview({ text: now, changes: changesIn(base, now, resources) })
    } catch (error) {
      setProblem(error as ApiProblem)
    }
  }
  const changes = preview?.changes ?? []
  const save = async () => {
    try {
      await call('/api/config/changes', { method: 'POST', body: { changes, comment } })
      drafts.set(CONFIGURATION, undefined)
      health.reload()
      stored()
    } catch (error) {
      setProblem(error as ApiProblem)
    }
  }
  return (
    <Stack gap="sm">
      {base === text ? null : (
        <OutdatedNote discard={() => drafts.set(CONFIGURATION, undefined)}>
          <Meanwhile base={base} text={text} now={now} />
        </OutdatedNote>
      )}
      <CodeEditor
        label="Configuration as YAML"
        value={now}
        {...(canStore ? { onChange: setNow } : {})}
        extensions={extensions}
        hasLineNumbers
        minHeight="12rem"
      />
      {canStore ? (
        <Group>
          <Button disabled={!isChanged || marksOf(now).length > 0} onClick={look}>
            See the effect
          </Button>
          <Text size="sm" c="dimmed">
            {isChanged ? '' : 'Nothing changed yet. `config` belongs to the file.'}
          </Text>
        </Group>
      ) : null}
      {problem === undefined ? null : <Problem problem={problem} />}
      {preview !== undefined && changes.length === 0 ? <Text>No resource differs.</Text> : null}
      {preview === undefined || changes.length === 0 ? null : (
        <>
          <Effect
            key={JSON.stringify(changes)}
            changes={changes}
            done={(isValid) => setSeen(isValid ? preview.text : undefined)}
          />
          <TextInput
            label="Comment for the history"
            value={comment}
            onChange={(event) => setComment(event.currentTarget.value)}
            maw={520}
          />
          <Button w="fit-content" disabled={seen !== now} onClick={save}>
            Save {changes.length} {changes.length === 1 ? 'resource' : 'resources'}
          </Button>
        </>
      )}
    </Stack>
  )
}

async function textOf(view: string, signal?: AbortSignal): Promise<string> {
  const path = `/api/config/${view}?format=yaml`
  return (await send(path, signal === undefined ? {} : { signal })).text()
}

/** Marks YAML syntax errors; the gateway checks the rest. */
function marksOf(text: string): Mark[] {
  const { errors } = parseDocument(text, { uniqueKeys: true, prettyErrors: false })
  return errors.map(({ pos: [from, to], message }) => ({
    from: Math.min(from, text.length),
    to: Math.min(Math.max(from, to), text.length),
    severity: 'error',
    message,
  }))
}

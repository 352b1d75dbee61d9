import { useEffect, useMemo, useState } from 'react'
import { call } from '../api/client.ts'
import type { Change, Diagnostic, Validation } from '../api/shapes.ts'
import type { Kind } from '../forms/schema.ts'
import { checkResource, type Mark } from './check-resource.ts'
import { TextPlaces } from './places.ts'
import { readText } from './with-value.ts'

const LOCAL_AFTER_MS = 200
/** The gateway checks the whole configuration with the change. */
const WHOLE_AFTER_MS = 700

/** What is wrong with a text: at once what it says by itself, then what it means for the rest. */
export function useMarks(kind: Kind, id: string, text: string): readonly Mark[] {
  const [local, setLocal] = useState<readonly Mark[]>([])
  const [whole, setWhole] = useState<readonly Mark[]>([])
  useEffect(() => {
    const timer = setTimeout(() => setLocal(checkResource(kind, id, text)), LOCAL_AFTER_MS)
    return () => clearTimeout(timer)
  }, [kind, id, text])
  useEffect(() => {
    const aborting = new AbortController()
    const check = async () => {
      const read = readText(text)
      if (!('value' in read) || id === '') return setWhole([])
      const changes: readonly Change[] = [{ action: 'set', kind, id, value: read.value ?? {} }]
      const found = await call<Validation>('/api/config/validate', {
        method: 'POST',
        body: { changes },
        signal: aborting.signal,
      }).catch(() => undefined)
      if (aborting.signal.aborted || found === undefined) return
      setWhole(marksOf(kind, id, text, found.diagnostics))
    }
    const timer = setTimeout(() => void check(), WHOLE_AFTER_MS)
    return () => {
      clearTimeout(timer)
      aborting.abort()
    }
  }, [kind, id, text])
  return useMemo(() => withoutRepeated(local, whole), [local, whole])
}

/** Of the same message, the one with the exact place is kept. */
function withoutRepeated(local: readonly Mark[], whole: readonly Mark[]): readonly Mark[] {
  const known = new Set(local.map(({ code, message }) => `${code} ${message}`))
  const further = whole.filter(({ code, message }) => !known.has(`${code} ${message}`))
  return [...local, ...further].toSorted((a, b) => a.from - b.from)
}

/** The messages about a resource, at its fields in the text. */
export function marksOf(
  kind: Kind,
  id: string,
  text: string,
  diagnostics: readonly Diagnostic[],
): readonly Mark[] {
  const places = new TextPlaces(text)
  return diagnostics.flatMap(({ origin, code, severity, message, hint }) => {
    if (origin.kind !== 'object') return []
    if (origin.object.replace(/^database /, '') !== `${kind}/${id}`) return []
    const path = places.pathOfField(origin.field)
    const span = places.spanOf(path)
    return [{ ...span, code, severity, message, hint, path, line: places.lineAt(span.from) }]
  })
}

import { Button, Group } from '@mantine/core'
import { useResourceKeys } from '../api/resource-keys.ts'
import type { Kind } from '../forms/schema.ts'
import { HINTS } from '../kinds/hints.ts'
import { shapeOfKind } from '../kinds/resource-id.ts'
import { editPath } from '../resources/paths.ts'

interface AddLinksProps {
  readonly kind: Kind
  /** What to add to the only resource of a kind. */
  readonly ids?: readonly string[]
}

/** Buttons that lead to the form of something new. */
export function AddLinks({ kind, ids = [] }: AddLinksProps) {
  const { noun, starts } = HINTS[kind]
  if (shapeOfKind(kind) !== 'single') {
    return (
      <Button component="a" href={`/ui/new/${kind}`} variant="default">
        Add {noun}
      </Button>
    )
  }
  return (
    <Group gap="sm">
      {starts
        .filter(({ id }) => ids.includes(id))
        .map(({ id, label }) => (
          <Button
            key={id}
            component="a"
            href={`/ui/${editPath(kind, 'default')}?add=${id}`}
            variant="default"
          >
            Add {label}
          </Button>
        ))}
    </Group>
  )
}

interface ResourceLinkProps {
  readonly kind: Kind
  readonly id: string
}

/** The name of a thing of the Model, with a link if it is a resource. */
export function ResourceLink({ kind, id }: ResourceLinkProps) {
  const keys = useResourceKeys()
  const key = [`${kind}/${id}`, ...(SECTIONS.includes(id) ? [`${id}/default`] : [])].find((one) =>
    keys?.has(one),
  )
  return key === undefined ? id : <a href={`/ui/${pathOf(key)}`}>{id}</a>
}

/** Sections that define a route and a backend of the same name. */
const SECTIONS = ['llm', 'mcp']

const KINDS: Readonly<Record<string, Kind>> = {
  route: 'routes',
  tcpRoute: 'tcpRoutes',
  gateway: 'gateways',
  backend: 'backends',
  section: 'frontendPolicies',
}

/** A policy that is part of a resource is named after it: `route:api`. */
export function PolicyLink({ policy }: { readonly policy: string }) {
  const keys = useResourceKeys()
  const [, prefix = '', name = ''] = /^(\w+):(.*)$/.exec(policy) ?? []
  const kind = KINDS[prefix]
  const key = [
    `policies/${policy}`,
    ...(kind === undefined ? [] : [`${kind}/${name}`]),
    ...(SECTIONS.includes(name) ? [`${name}/default`] : []),
  ].find((one) => keys?.has(one))
  return key === undefined ? policy : <a href={`/ui/${pathOf(key)}`}>{policy}</a>
}

function pathOf(key: string): string {
  const [kind = '', ...id] = key.split('/')
  return editPath(kind, id.join('/'))
}

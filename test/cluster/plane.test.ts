// What holds of the whole control plane, all on one cluster.

import { after, before, describe } from 'node:test'
import { missing } from './harness.ts'
import { describeIsolation } from './isolation.ts'
import { describePermissionsByUse } from './permissions-by-use.ts'
import { ownAddress, type Plane, startPlane } from './plane.ts'
import { describeSpecification } from './specification.ts'

const reason = missing() ?? (ownAddress === undefined ? 'only loopback is here' : undefined)
const options = reason === undefined ? {} : { skip: reason }

describe('a control plane', options, () => {
  let plane: Plane
  before(async () => {
    plane = await startPlane({ ports: 30, audit: true })
    plane.controller = await plane.programs.startController()
  })
  after(() => plane?.close())

  describeSpecification(() => plane)
  describeIsolation(() => plane)
  // The last: it looks at all that was asked for before.
  describePermissionsByUse(() => plane)
})

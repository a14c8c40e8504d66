// The store's tables and how an older store becomes one of this version.
//
// `user_version` of the database counts the migrations that were applied. Each is one transaction, so that a kill in the middle of an upgrade
// leaves the version before it. A store of a later version is refused: reading it could misunderstand what it says.
#pragma once

#include "store/database.h"

namespace kforge::store {

int schema_version();
// Errors: unsupported (made by a later version), failed, limit.
Expected<void> migrate(Database& database);

}  // namespace kforge::store

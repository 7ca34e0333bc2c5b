//! dql

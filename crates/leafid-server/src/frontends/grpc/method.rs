//! `Method`: every method there is, by its path.

/// A method, for the front end and for the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Method {
    Next,
    NextMany,
    ReserveRange,
    Stream,
    Decode,
    CreateTag,
    GetTag,
    ListTags,
    UpdateTag,
    DeleteTag,
    HealthCheck,
    HealthWatch,
    Reflection,
    ReflectionAlpha,
    /// Any other.
    Unknown,
}

impl Method {
    pub(crate) const ALL: [Self; 15] = [
        Self::Next,
        Self::NextMany,
        Self::ReserveRange,
        Self::Stream,
        Self::Decode,
        Self::CreateTag,
        Self::GetTag,
        Self::ListTags,
        Self::UpdateTag,
        Self::DeleteTag,
        Self::HealthCheck,
        Self::HealthWatch,
        Self::Reflection,
        Self::ReflectionAlpha,
        Self::Unknown,
    ];

    /// The path without its slash in front, which is also its name in the metrics.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Next => "leafid.v1.Ids/Next",
            Self::NextMany => "leafid.v1.Ids/NextMany",
            Self::ReserveRange => "leafid.v1.Ids/ReserveRange",
            Self::Stream => "leafid.v1.Ids/Stream",
            Self::Decode => "leafid.v1.Ids/Decode",
            Self::CreateTag => "leafid.v1.Tags/CreateTag",
            Self::GetTag => "leafid.v1.Tags/GetTag",
            Self::ListTags => "leafid.v1.Tags/ListTags",
            Self::UpdateTag => "leafid.v1.Tags/UpdateTag",
            Self::DeleteTag => "leafid.v1.Tags/DeleteTag",
            Self::HealthCheck => "grpc.health.v1.Health/Check",
            Self::HealthWatch => "grpc.health.v1.Health/Watch",
            Self::Reflection => "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            Self::ReflectionAlpha => {
                "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
            }
            Self::Unknown => "(other)",
        }
    }

    /// The method of a path; the ones that issue come first.
    pub(super) fn of(path: &str) -> Self {
        let path = path.strip_prefix('/').unwrap_or_default();
        let found = Self::ALL.into_iter().find(|method| method.path() == path);
        found.unwrap_or(Self::Unknown)
    }

    /// Whether it gives ids out.
    pub(super) const fn issues(self) -> bool {
        matches!(
            self,
            Self::Next | Self::NextMany | Self::ReserveRange | Self::Stream
        )
    }

    /// Whether it takes one message, and not a stream of them.
    pub(super) const fn takes_one(self) -> bool {
        !matches!(
            self,
            Self::Stream | Self::Reflection | Self::ReflectionAlpha
        )
    }

    /// Whether its answer goes on after it began.
    pub(super) const fn is_streaming(self) -> bool {
        matches!(
            self,
            Self::Stream | Self::HealthWatch | Self::Reflection | Self::ReflectionAlpha
        )
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// Guards that the table knows each method of the protocol files, as what it is.
    #[test]
    fn every_method_of_the_protocol_has_its_path() {
        let described = [
            crate::frontends::grpc::v1::DESCRIPTION,
            tonic_health::pb::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
            tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
        ];
        let mut count = 0;
        for bytes in described {
            for file in FileDescriptorSet::decode(bytes).unwrap().file {
                for service in &file.service {
                    for method in &service.method {
                        let (package, service) = (file.package(), service.name());
                        let path = format!("/{package}.{service}/{}", method.name());
                        let found = Method::of(&path);
                        assert_ne!(found, Method::Unknown, "{path}");
                        assert_eq!(found.is_streaming(), method.server_streaming(), "{path}");
                        assert_eq!(found.takes_one(), !method.client_streaming(), "{path}");
                        count += 1;
                    }
                }
            }
        }
        assert_eq!(count, Method::ALL.len() - 1);
        assert_eq!(Method::of("/leafid.v1.Ids/Nxet"), Method::Unknown);
        assert_eq!(Method::of("leafid.v1.Ids/Next"), Method::Unknown);
    }

    #[test]
    fn the_table_is_in_order() {
        for (index, method) in Method::ALL.into_iter().enumerate() {
            assert_eq!(method as usize, index, "{method:?}");
        }
    }
}
